// Sort the table of students by a column: numbers from the largest, names from A.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.closest("th");
    const body = heading.closest("table").tBodies[0];
    const column = [...heading.parentNode.children].indexOf(heading);
    const numeric = heading.dataset.kind === "number";
    const sorted = heading.getAttribute("aria-sort");
    const ascending = sorted ? sorted === "descending" : !numeric;
    const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
    const compare = (one, other) =>
      numeric ? value(one) - value(other) : value(one).localeCompare(value(other));
    const rows = [...body.rows].sort((a, b) => (ascending ? compare(a, b) : compare(b, a)));
    for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    body.append(...rows);
  });
}
