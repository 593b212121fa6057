// Reads Turtle on standard input with the package n3 in the folder that is the first argument, strictly, and prints the
// triples as JSON.
const { Parser } = require(process.argv[2]);
const text = require("node:fs").readFileSync(0, "utf8");
const quads = new Parser({ format: "text/turtle" }).parse(text);
console.log(JSON.stringify(quads.map((q) => ({
  Subject: q.subject.value,
  Predicate: q.predicate.value,
  Object: q.object.value,
  Datatype: q.object.termType === "Literal" ? q.object.datatype.value : "",
}))));
