// Draws the rows of the stream timeline: thousands of operations, so on a canvas. Classes differ in
// pattern as well as in colour: solid compute, sparse strokes for hidden communication, dense
// crossed ones for exposed communication.

import { cssColour } from "./dom.js";

/** Strokes on a tile of `size` device pixels; each is [x1, y1, x2, y2] in shares of the tile. */
const STROKES = {
  hidden: { size: 8, width: 1.1, lines: [[-0.5, 0.5, 0.5, -0.5], [0, 1, 1, 0], [0.5, 1.5, 1.5, 0.5]] },
  exposed: { size: 5, width: 1.3, lines: [[0, 0, 1, 1], [0, 1, 1, 0]] },
  copy: { size: 6, width: 1.1, lines: [[0.5, 0, 0.5, 1]] },
  optimizer: { size: 6, width: 1.1, lines: [[0, 0.5, 1, 0.5]] },
};

/** Fill styles by class, in the colours of the page. */
export function makePaints(context, element, ratio) {
  const colour = (name) => cssColour(element, name);
  const patterned = (name) => {
    const { size, width, lines } = STROKES[name];
    const tile = document.createElement("canvas");
    tile.width = tile.height = Math.round(size * ratio);
    const pen = tile.getContext("2d");
    pen.fillStyle = colour(`--class-${name}`);
    pen.fillRect(0, 0, tile.width, tile.height);
    pen.strokeStyle = colour(`--stroke-${name}`);
    pen.lineWidth = width * ratio;
    for (const [x1, y1, x2, y2] of lines) {
      pen.beginPath();
      pen.moveTo(x1 * tile.width, y1 * tile.height);
      pen.lineTo(x2 * tile.width, y2 * tile.height);
      pen.stroke();
    }
    return context.createPattern(tile, "repeat");
  };
  const paints = { compute: colour("--class-compute") };
  for (const name of Object.keys(STROKES)) paints[name] = patterned(name);
  return {
    ...paints,
    line: colour("--line"),
    text: colour("--text"),
    muted: colour("--muted"),
    row: colour("--row"),
    inverse: colour("--class-compute-text"),
    peers: colour("--class-peers"),
    cpu: colour("--class-cpu"),
  };
}

/** A canvas that matches its element's size at the screen's resolution: {context, ratio}. */
export function sizeCanvas(canvas, width, height) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, ratio };
}

/** First index of the sorted `values` that is at least `value`. */
export function lowerBound(values, value) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Stretches [start, end) as rectangles of one row. What is narrower than half a pixel is drawn half
 * a pixel wide, and no pixel twice.
 * @param paintOf index -> fill style, or null to leave the stretch out
 */
export function drawStretches(context, { starts, ends, first, last }, x, row, paintOf, labelOf) {
  let covered = -Infinity;
  for (let i = first; i < last; i += 1) {
    const right = x(ends[i]);
    if (right < row.left || right < covered + 0.25) continue;
    const left = Math.max(x(starts[i]), row.left);
    if (left > row.right) break;
    const paint = paintOf(i);
    if (!paint) continue;
    const width = Math.max(0.6, Math.min(right, row.right) - left);
    context.fillStyle = paint;
    context.fillRect(left, row.top, width, row.height);
    covered = left + width;
    if (width > 3) {
      context.strokeStyle = row.edge;
      context.lineWidth = 1;
      context.strokeRect(left + 0.5, row.top + 0.5, width - 1, row.height - 1);
    }
    if (labelOf && width > 14) drawLabel(context, labelOf(i), left, width, row);
  }
}

function drawLabel(context, text, left, width, row) {
  if (!text) return;
  const room = Math.floor((width - 8) / 6.2);
  if (room < Math.min(text.length, 5)) return;
  context.fillStyle = row.ink;
  context.fillText(
    text.length > room ? `${text.slice(0, room - 1)}…` : text,
    left + 4,
    row.top + row.height / 2 + 4,
  );
}
