package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestMutants sees that the product still has what each mutant breaks.
func TestMutants(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			texts, err := builder{root: "../../.."}.broken(m)
			if err != nil {
				t.Fatal(err)
			}
			for path, text := range texts {
				if !strings.HasSuffix(path, ".go") {
					continue
				}
				if _, err := parser.ParseFile(token.NewFileSet(), path, text, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
