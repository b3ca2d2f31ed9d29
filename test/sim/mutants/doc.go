// Command mutants proves that the simulation can fail: it breaks the product on
// purpose, in one place at a time, and demands that the judge convicts each broken
// build within an hour of simulated time, and the whole one never.
//
// A mutant is an edit of source texts that takes effect in its build alone (go build
// -overlay), so the product carries no hooks for it, and an edit whose text is not
// found exactly once fails loudly.
package main
