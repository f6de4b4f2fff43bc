// Packs the simulator's module and the files it reads for the quiz page: deflated, as text.
//
//   node pack_module.mjs MODULE.wasm FILES.json OUT
//
// Inflated, the text's bytes are the length of FILES.json (32 bits, little end first), FILES.json
// and the module. web/quiz/evidence_source.js unpacks it.

import { readFileSync, writeFileSync } from "node:fs";
import { constants, deflateRawSync } from "node:zlib";

const [module, files, out] = process.argv.slice(2);
const text = Buffer.from(JSON.stringify(JSON.parse(readFileSync(files, "utf8"))));
const length = Buffer.alloc(4);
length.writeUInt32LE(text.length);
const packed = deflateRawSync(Buffer.concat([length, text, readFileSync(module)]), { level: constants.Z_BEST_COMPRESSION });
writeFileSync(out, packed.toString("base64"));
console.log(`${out}: ${(packed.length / 768).toFixed(1)} KiB`);
