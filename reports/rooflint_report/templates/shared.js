// What several scripts of the page use.

// Reads what `packing.py` wrote: JSON, raw deflate, base64.
const unpacked = async (id) => {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
};

// Copies a line of code, or selects it where the clipboard is closed; the button says which.
const copied = async (button, line) => {
  try {
    await navigator.clipboard.writeText(line.textContent);
    button.textContent = "copied";
  } catch {
    getSelection().selectAllChildren(line);
    button.textContent = "selected";
  }
  setTimeout(() => { button.textContent = "copy"; }, 1500);
};
