/* Opened as a file, a page may not read other pages: search then shows titles without excerpts. */
if (window.location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

document.addEventListener("DOMContentLoaded", () => {
  nameFolds();
  nameChapters();
  showWhatTeaches();
  lightUpTheMap();
  document.querySelectorAll("pre").forEach((block) => {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
  });
});

/* What opens a chapter's sections in the sidebar is an arrow: say which chapter's. */
function nameFolds() {
  document.querySelectorAll("li.has-children > details > summary").forEach((summary) => {
    const link = summary.closest("li").querySelector("a");
    summary.setAttribute("aria-label", `Sections of ${link.textContent.trim()}`);
  });
}

/* Beside each result of a search, which chapter it is in: many sections have a short title. */
function nameChapters() {
  const results = document.getElementById("search-results");
  if (!results) return;
  const name = (link) => {
    const chapter = /chapters\/(\d\d)_(\w+)\//.exec(link.getAttribute("href"));
    if (!chapter || link.dataset.named) return;
    link.dataset.named = "yes";
    const words = document.createElement("span");
    words.className = "kind-chapter";
    words.textContent = `${chapter[1]} ${chapter[2].replaceAll("_", " ")}`;
    link.after(words);
  };
  const look = () => results.querySelectorAll("ul.search li > a").forEach(name);
  new MutationObserver(look).observe(results, { childList: true, subtree: true });
  look();
}

/* Above the results, where a name of PyTorch is taught: the index knows that, a search does not. */
function showWhatTeaches() {
  const results = document.getElementById("search-results");
  const asked = new URLSearchParams(window.location.search).get("q");
  if (!results || !asked || typeof TAUGHT === "undefined") return;
  const name = asked.trim().replace(/\(.*\)$/, "").split(".").pop();
  const sections = Object.hasOwn(TAUGHT, name.toLowerCase()) ? TAUGHT[name.toLowerCase()] : null;
  if (!sections) return;
  const box = document.createElement("div");
  box.className = "taught";
  const head = document.createElement("p");
  head.append(Object.assign(document.createElement("code"), { textContent: name }), " is taught in");
  const list = document.createElement("ul");
  for (const [page, label] of sections) {
    const link = Object.assign(document.createElement("a"), { href: page, innerHTML: label });
    list.append(document.createElement("li"));
    list.lastChild.append(link);
  }
  box.append(head, list);
  results.before(box);
}

/* A chapter on the map lights up what it leans on and what leans on it. */
function lightUpTheMap() {
  document.querySelectorAll("figure.map svg").forEach((map) => {
    const near = (number, on) => {
      map.querySelectorAll(".map-line").forEach((line) => {
        const { from, to } = line.dataset;
        if (from !== number && to !== number) return;
        line.classList.toggle("map-near", on);
        const other = map.querySelector(`[data-chapter="${from === number ? to : from}"]`);
        if (other) other.classList.toggle("map-near", on);
      });
    };
    map.querySelectorAll("a.map-box").forEach((box) => {
      const number = box.dataset.chapter;
      for (const start of ["mouseenter", "focus"])
        box.addEventListener(start, () => near(number, true));
      for (const end of ["mouseleave", "blur"])
        box.addEventListener(end, () => near(number, false));
    });
  });
}
