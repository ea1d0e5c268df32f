// Draws what is folded when it is opened; failures and all that is in sight are there without this.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Theme: the radio buttons work by CSS alone; this remembers the choice.
  const radios = all("input[name=theme]");
  const remember = (value) => { try { localStorage.setItem("rooflint-theme", value); } catch { return; } };
  const recall = () => { try { return localStorage.getItem("rooflint-theme"); } catch { return null; } };
  const asked = /^#theme=(\w+)$/.exec(location.hash);
  const wanted = asked ? asked[1] : recall();
  for (const radio of radios) {
    if (radio.value === wanted) radio.checked = true;
    radio.addEventListener("change", () => remember(radio.value));
  }

  document.addEventListener("DOMContentLoaded", () => {
    const find = document.getElementById("find");
    const show = document.getElementById("show");
    const found = document.getElementById("found");
    const devices = all("#devices details.device");
    let parts = null;
    document.addEventListener("toggle", async (event) => {
      const { part } = event.target.dataset;
      if (!event.target.open || part === undefined) return;
      delete event.target.dataset.part;
      const body = document.createElement("div");
      body.className = "body";
      body.innerHTML = (await (parts ??= unpacked("folded")))[part];
      event.target.append(body);
    }, true);  // it does not bubble
    const filter = () => {
      const terms = find.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
      const trait = show ? show.value : "";
      const words = (device) => device.querySelector("summary").textContent.toLowerCase();
      const matches = (device) => terms.every((term) => words(device).includes(term));
      let shown = 0;
      for (const device of devices) {
        device.hidden = !matches(device) || (trait !== "" && !device.dataset.has.split(" ").includes(trait));
        shown += !device.hidden;
      }
      if (found) found.textContent = terms.length || trait ? `${shown} of ${devices.length} devices` : "";
    };

    if (devices.length) {
      for (const element of all("#devices .tools[hidden]")) element.hidden = false;
      find.addEventListener("input", filter);
      show.addEventListener("change", filter);
      const toggle = (open) => () => { for (const device of devices) if (!device.hidden) device.open = open; };
      document.getElementById("expand").addEventListener("click", toggle(true));
      document.getElementById("collapse").addEventListener("click", toggle(false));
      find.addEventListener("keydown", (event) => {
        if (event.key === "Escape") { find.value = ""; filter(); }
      });
    }

    // A link into a closed device opens it, also when it is followed twice.
    const reveal = () => {
      const target = document.getElementById(location.hash.slice(1));
      if (!target) return;
      for (let element = target; element; element = element.parentElement) {
        if (element.tagName === "DETAILS") { element.open = true; element.hidden = false; }
      }
      target.scrollIntoView();
    };
    window.addEventListener("hashchange", reveal);
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[href^='#']");
      if (link && link.hash === location.hash) reveal();
    });
    reveal();

    for (const line of all("code.copy")) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "copy";
      button.addEventListener("click", () => copied(button, line));
      line.after(" ", button);
    }

    let closed = [];
    window.addEventListener("beforeprint", () => {
      closed = all("article.card details:not([open])").filter((one) => !one.closest(".alike"));  // a row is enough of those alike
      for (const element of closed) element.open = true;
    });
    window.addEventListener("afterprint", () => { for (const element of closed) element.open = false; });
  });
})();
