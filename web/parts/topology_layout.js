// Where the devices of a cluster go: the fabric's switches on top, a box a node below; in a box,
// from the top, NICs, PCIe switches and CPUs, GPUs, NVLink switches.

const SIZE = { gpu: [42, 28], nic: [34, 20], cpu: [44, 22], pcie_switch: [46, 18], nvswitch: [96, 24], network_switch: [64, 24] };
const LAYERS = [["nic"], ["pcie_switch"], ["cpu"], ["gpu"], ["nvswitch"]];
const ROW = 54;
const PAD = 14;
const SPACE = 10;

/** Widths of a row of devices. */
function rowWidth(devices) {
  return devices.reduce((sum, device) => sum + SIZE[device.kind][0] + SPACE, -SPACE);
}

function placeRow(devices, centre, y, places) {
  let x = centre - rowWidth(devices) / 2;
  for (const device of devices) {
    const [width, height] = SIZE[device.kind];
    places.set(device, { x, y: y - height / 2, width, height });
    x += width + SPACE;
  }
}

/** Each in the middle of its share of the width: between the columns of what hangs on it. */
function spreadRow(devices, centre, y, room, places) {
  devices.forEach((device, i) => {
    const middle = centre - room / 2 + ((i + 0.5) * room) / devices.length;
    placeRow([device], middle, y, places);
  });
}

/**
 * @param devices [{kind, node, tier, index}]
 * @returns {{places: Map, boxes: [{node, x, y, width, height}], width, height}}
 */
export function layOut(devices) {
  const places = new Map();
  const tiers = new Map();
  const nodes = new Map();
  for (const device of devices) {
    const groups = device.node < 0 ? tiers : nodes;
    const key = device.node < 0 ? (device.kind === "nvswitch" ? -1 : device.tier) : device.node;
    groups.set(key, [...(groups.get(key) ?? []), device]);
  }
  const layersOf = (own) => LAYERS.map((kinds) => own.filter((device) => kinds.includes(device.kind))).filter((layer) => layer.length > 0);
  const layered = [...nodes.entries()].sort((a, b) => a[0] - b[0]).map(([node, own]) => ({ node, layers: layersOf(own) }));
  for (const one of layered) one.width = Math.max(...one.layers.map(rowWidth), 90) + 2 * PAD;
  const nodesWidth = layered.reduce((sum, one) => sum + one.width + 2 * SPACE, -2 * SPACE);
  const above = [...tiers.keys()].filter((tier) => tier >= 0).sort((a, b) => b - a);
  const tierWidth = Math.max(0, ...[...tiers.values()].map(rowWidth));
  const width = Math.max(nodesWidth, tierWidth) + 2;
  let y = 22;
  for (const tier of above) {
    placeRow(tiers.get(tier), width / 2, y, places);
    y += ROW + 14;
  }
  const top = y;
  const most = Math.max(...layered.map((one) => one.layers.length));
  const boxes = [];
  let x = (width - nodesWidth) / 2;
  for (const one of layered) {
    const height = most * ROW + 20;
    boxes.push({ node: one.node, x, y: top - 6, width: one.width, height });
    one.layers.forEach((layer, i) => {
      const centre = x + one.width / 2;
      const y = top + 34 + i * ROW;
      if (layer[0].kind === "cpu") spreadRow(layer, centre, y, one.width - 2 * PAD, places);
      else placeRow(layer, centre, y, places);
    });
    x += one.width + 2 * SPACE;
  }
  y = top + most * ROW + 20;
  if (tiers.has(-1)) {
    y += 28;
    placeRow(tiers.get(-1), width / 2, y, places);
    y += 20;
  }
  return { places, boxes, width, height: y + 8 };
}
