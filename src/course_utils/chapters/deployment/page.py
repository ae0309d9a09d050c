"""The page on which a learner draws a shape and sees the server's answer."""

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Draw a shape</title>
<style>
 body { font: 14px sans-serif; margin: 8px; background: #fff; color: #1a1a1a }
 canvas { border: 1px solid #b4b4b4; touch-action: none }
 button, select { margin-right: 8px }
</style>
<p>Drag to draw a shape: <select id="kind" aria-label="shape"><option>circle<option>square
<option>triangle</select><button id="clear">clear</button><span id="says" role="status"></span></p>
<canvas id="paper" width="256" height="256" aria-label="paper"></canvas>
<script>
const paper = document.getElementById("paper"), pen = paper.getContext("2d");
const kind = document.getElementById("kind"), says = document.getElementById("says");
const colours = ["#d64541", "#267cbe", "#2ea064", "#e8aa20", "#8c56b2", "#14aab4"];
let start = null, shapes = [];
function place(event) {
  const r = paper.getBoundingClientRect();
  return [event.clientX - r.left, event.clientY - r.top];
}
function draw() {
  pen.fillStyle = "#6e6e78"; pen.fillRect(0, 0, 256, 256);
  for (const [what, x, y, size, colour] of shapes) {
    pen.fillStyle = colour; pen.beginPath();
    if (what === "circle") pen.arc(x, y, size, 0, 7);
    else if (what === "square") pen.rect(x - size, y - size, 2 * size, 2 * size);
    else {
      pen.moveTo(x, y - size); pen.lineTo(x + size, y + size); pen.lineTo(x - size, y + size);
    }
    pen.fill();
  }
}
function ask() {
  paper.toBlob(async file => {
    const answer = await fetch("detect", {method: "POST", body: file});
    const found = await answer.json();
    if (!answer.ok) { says.textContent = found.detail; return; }
    says.textContent = "your server says: " + found.shape;
    const [left, top, right, bottom] = found.box;
    draw(); pen.strokeStyle = "#fff"; pen.lineWidth = 3;
    pen.strokeRect(left, top, right - left, bottom - top);
  }, "image/png");
}
paper.onpointerdown = event => { start = place(event); };
paper.onpointerup = event => {
  if (!start) return;
  const [x, y] = place(event);
  const size = Math.max(24, Math.hypot(x - start[0], y - start[1]));
  shapes.push([kind.value, start[0], start[1], size, colours[shapes.length % 6]]);
  start = null; draw(); ask();
};
document.getElementById("clear").onclick = () => { shapes = []; says.textContent = ""; draw(); };
draw();
</script></html>
"""
