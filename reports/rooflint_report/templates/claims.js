// The table of all claims. Its state stands in the address: #claims?q=h100+fp8&outcome=fail&sort=-slack
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const section = document.getElementById("claims");
  if (!section) return;
  const form = section.querySelector("form.claim-tools");
  const scroll = section.querySelector(".scroll");
  const body = section.querySelector("tbody");
  const heads = [...section.querySelectorAll("thead button")];
  const more = document.getElementById("claims-more");
  const found = document.getElementById("claims-found");
  const search = document.getElementById("claims-q");
  const keys = document.getElementById("keys");
  const STEP = matchMedia("(max-width: 36rem)").matches ? 25 : 100;
  const MORE = 1000;
  const NUMBERS = { ratio: (claim) => claim.ratio === null ? null : Math.abs(Math.log(Math.abs(claim.ratio) || 1e-300)), slack: (claim) => claim.slack };
  const SEARCHED = ["outcome", "claim", "device", "kind", "precision", "expected", "printed", "obtained", "document", "where", "grade", "reason", "note", "file", "about"];
  const MARKS = {};
  for (const box of form.querySelectorAll("[name=outcome]")) {
    MARKS[box.value] = box.parentElement.querySelector("b").cloneNode(true);
    MARKS[box.value].textContent = MARKS[box.value].textContent.split(" ")[0];
  }
  const order = Object.keys(MARKS);
  let claims = null;
  let shown = [];
  let drawn = 0;
  let sort = "";

  const element = (tag, text = "", attributes = {}) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const link = (text, address) => element("a", text, address.startsWith("#") ? { href: address } : { href: address, rel: "noopener noreferrer" });

  // ---- one claim as a row, and what opens below it

  const placed = (claim) => {
    const code = element("code", claim.line ? `${claim.file}:${claim.line}` : claim.file, { class: "at" });
    if (!claim.blob) return code;
    const made = link("", claim.blob);
    made.append(code);
    return made;
  };
  const row = (claim, number) => {
    const made = element("tr", "", { "data-number": number });
    const mark = element("td");
    mark.append(MARKS[claim.outcome].cloneNode(true));
    if (claim.outcome !== "pass") mark.firstChild.title = claim.outcome;
    const name = element("th", "", { scope: "row" });
    name.append(element("button", claim.claim, { type: "button", class: "open", "aria-expanded": "false" }));
    if (claim.flags.length) name.append(" ", element("small", claim.flags.join(", ")));
    const device = element("td");
    device.append(claim.sheet ? link(claim.device, `#${claim.sheet}`) : claim.device);
    made.append(mark, name, device);
    const slack = claim.slack === null ? "" : claim.slack.toFixed(2).replace("-0.00", "0.00");
    for (const text of [claim.expected, claim.obtained, claim.ratioText, slack]) made.append(element("td", text));
    const source = element("td");
    source.append(element("span", claim.document, { title: claim.document }));
    made.append(source);
    return made;
  };
  const detail = (claim) => {
    const list = element("dl");
    const add = (term, ...parts) => {
      if (!parts.some(Boolean)) return;
      const definition = element("dd");
      definition.append(...parts.filter(Boolean));
      list.append(element("dt", term), definition);
    };
    add("claimed at", placed(claim));
    add("printed", claim.printed);
    add("source", [claim.document, claim.where, claim.grade].filter(Boolean).join(", "));
    add("tolerance", [claim.tolerance, claim.why].filter(Boolean).join(": "));
    add("derived", claim.formula && element("code", claim.formula));
    add("reason", [claim.reason, claim.until && `until ${claim.until}`].filter(Boolean).join("; "));
    add("note", claim.note);
    add("failure", claim.card && link("its causes and facts", `#${claim.card}`));
    const copy = element("button", "copy", { type: "button", class: "copies" });
    add("rerun", element("code", `pytest ${claim.rerun.startsWith("::") ? claim.file : ""}${claim.rerun}`, { class: "copy" }), " ", copy);
    const made = element("tr", "", { class: "detail" });
    made.append(element("td", "", { colspan: heads.length }));
    made.firstChild.append(list);
    return made;
  };
  const toggle = (button) => {
    const open = button.getAttribute("aria-expanded") !== "true";
    const line = button.closest("tr");
    button.setAttribute("aria-expanded", open);
    if (open) line.after(detail(shown[line.dataset.number]));
    else if (line.nextElementSibling?.matches(".detail")) line.nextElementSibling.remove();
  };

  // ---- which claims, in which order

  const chosen = () => {
    const asked = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value.trim()) asked.append(name, value.trim());
    if (sort) asked.set("sort", sort);
    return asked;
  };
  const chooses = (asked) => {
    const terms = (asked.get("q") ?? "").toLowerCase().match(/"[^"]*"|\S+/g) ?? [];
    const has = (claim, term) => {
      const whole = /^"(.+)"$/.exec(term);  // in quotes, no part of another word: "nvidia/a100"
      return whole ? ` ${claim.words} `.includes(` ${whole[1]} `) : claim.words.includes(term.replaceAll('"', ""));
    };
    const outcomes = asked.getAll("outcome");
    const only = asked.getAll("only");
    const same = (name) => !asked.get(name) || ((claim) => claim[name] === asked.get(name));
    const tests = [same("kind"), same("precision")].filter((test) => test !== true);
    return (claim) => (!outcomes.length || outcomes.includes(claim.outcome))
      && only.every((flag) => claim.flags.includes(flag))
      && tests.every((test) => test(claim))
      && terms.every((term) => has(claim, term));
  };
  let collator = null;  // making one takes longer than the rest of this script, so only where text is sorted
  const compares = (name) => {
    const value = NUMBERS[name];
    if (value) return (a, b) => value(a) - value(b);
    if (name === "outcome") return (a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome);
    const { compare } = collator ??= new Intl.Collator("en", { numeric: true });
    return (a, b) => compare(a[name], b[name]);
  };
  const sorted = (list) => {
    const name = sort.replace("-", "");
    if (!heads.some((head) => head.value === name)) return list;
    const value = NUMBERS[name] ?? ((claim) => claim[name] || null);
    const known = list.filter((claim) => value(claim) !== null);
    const compare = compares(name);
    known.sort(sort.startsWith("-") ? (a, b) => compare(b, a) : compare);
    return [...known, ...list.filter((claim) => value(claim) === null)];  // what has no value comes last either way
  };
  const grouped = (number) => number < 10000 ? String(number) : String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const draw = (number) => {
    const rows = shown.slice(drawn, drawn + number).map((claim, at) => row(claim, drawn + at));
    body.append(...rows);
    drawn += rows.length;
    const left = shown.length - drawn;
    more.hidden = left === 0;
    more.textContent = left > MORE ? `Show ${grouped(MORE)} more of ${grouped(left)}` : `Show the other ${grouped(left)}`;
  };
  const update = () => {
    const asked = chosen();
    shown = sorted(claims.filter(chooses(asked)));
    drawn = 0;
    body.replaceChildren();
    draw(STEP);
    found.textContent = asked.size && (asked.size > 1 || !sort) ? `${grouped(shown.length)} of ${grouped(claims.length)}` : "";
    for (const head of heads) {
      const way = sort === head.value ? "ascending" : sort === `-${head.value}` ? "descending" : "none";
      head.parentElement.setAttribute("aria-sort", way);
    }
  };
  const changed = () => {
    const asked = String(chosen());
    history.replaceState(null, "", asked ? `#claims?${asked}` : "#claims");
    update();
  };
  const asks = () => location.hash.startsWith("#claims?") ? new URLSearchParams(location.hash.slice("#claims?".length)) : null;
  const restore = (asked) => {
    form.reset();
    for (const [name, value] of asked) {
      for (const field of form.querySelectorAll(`[name="${CSS.escape(name)}"]`)) {
        if (field.type === "checkbox") field.checked ||= field.value === value;
        else field.value = value;
      }
    }
    sort = asked.get("sort") ?? "";
    update();
  };

  // ---- read when the section comes into sight or is asked for

  let reading = null;
  const read = () => reading ??= (async () => {
    const { columns, names } = await unpacked("claims-data");
    claims = columns.claim.map((_, at) => Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[at]])));
    for (const claim of claims) {
      claim.words = [...SEARCHED.map((name) => claim[name]), names[claim.device]].join(" ").toLowerCase();
    }
    form.hidden = scroll.hidden = false;
    restore(asks() ?? new URLSearchParams());
  })();
  const follow = async () => {
    const asked = asks();
    if (!asked) return;
    if (claims) restore(asked);
    await read();
    section.scrollIntoView();
  };
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest?.("a[href^='#claims?']");
    if (anchor && anchor.hash === location.hash) follow();
  });
  new IntersectionObserver((seen, observer) => {
    if (!seen.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    read();
  }, { rootMargin: "600px" }).observe(section);
  follow();

  // ---- by mouse and by keys

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", changed);
  form.addEventListener("reset", () => { sort = ""; setTimeout(changed); });
  more.addEventListener("click", () => draw(MORE));
  for (const head of heads) {
    head.addEventListener("click", () => {
      const [first, second] = head.value === "ratio" ? ["-ratio", "ratio"] : [head.value, `-${head.value}`];  // farthest first
      sort = sort === first ? second : sort === second ? "" : first;
      changed();
    });
  }
  body.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.matches(".open")) toggle(button);
    else if (button) copied(button, button.parentElement.querySelector("code"));
  });
  const current = () => document.activeElement?.closest?.("#claims-table tbody tr");
  const step = (way) => {
    const buttons = [...body.querySelectorAll(".open")];
    const line = current();
    const own = line?.matches(".detail") ? line.previousElementSibling : line;
    const at = own ? buttons.indexOf(own.querySelector(".open")) + way : 0;
    if (at >= buttons.length && !more.hidden) draw(MORE);
    (body.querySelectorAll(".open")[Math.max(at, 0)] ?? buttons.at(-1))?.focus();
  };
  const onKey = {
    "/": async () => { await read(); section.scrollIntoView(); search.focus(); },
    j: async () => { await read(); step(1); },
    k: async () => { await read(); step(-1); },
    o: () => { const line = current(); if (line) toggle((line.matches(".detail") ? line.previousElementSibling : line).querySelector(".open")); },
    c: () => {
      const line = current();
      if (!line) return;
      const open = (line.matches(".detail") ? line.previousElementSibling : line).querySelector(".open");
      if (open.getAttribute("aria-expanded") !== "true") toggle(open);
      open.closest("tr").nextElementSibling.querySelector(".copies").click();
    },
    "?": () => keys.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.key === "Escape" && event.target === search) { search.value = ""; changed(); search.blur(); }
    if (typing || keys.open || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(onKey, event.key)) return;
    event.preventDefault();
    onKey[event.key]();
  });
  document.getElementById("keys-button").addEventListener("click", () => keys.showModal());
  keys.querySelector("button").addEventListener("click", () => keys.close());
});
