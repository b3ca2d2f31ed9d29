package output

import (
	"bytes"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Color is that of a cell.
type Color int

// The colors, by what they say.
const (
	Plain Color = iota
	Good
	Warning
	Bad
	Faint
)

// codes are the parameters of SGR, the control sequence for colors of ECMA-48.
func (c Color) code() string {
	switch c {
	case Good:
		return "32"
	case Warning:
		return "33"
	case Bad:
		return "31"
	case Faint:
		return "2"
	case Plain:
	}

	return ""
}

// cell is a text that prints, in one color.
type cell struct {
	text  string
	color Color
}

// gap stands between two columns.
const gap = "  "

// grid aligns cells, by the width that a terminal gives them.
type grid struct {
	rows   [][]cell
	widths []int
}

func (g *grid) add(row []cell) {
	for i, c := range row {
		if i == len(g.widths) {
			g.widths = append(g.widths, 0)
		}
		g.widths[i] = max(g.widths[i], runewidth.StringWidth(c.text))
	}
	g.rows = append(g.rows, row)
}

func (g *grid) write(b *bytes.Buffer) {
	for _, row := range g.rows {
		for i, c := range row {
			if code := c.color.code(); code != "" {
				b.WriteString("\x1b[" + code + "m" + c.text + "\x1b[0m")
			} else {
				b.WriteString(c.text)
			}
			if i < len(row)-1 { // nothing behind the last
				b.WriteString(strings.Repeat(" ", g.widths[i]-runewidth.StringWidth(c.text)) + gap)
			}
		}
		b.WriteByte('\n')
	}
}
