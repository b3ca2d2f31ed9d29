package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func manCommand(w io.Writer) *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "man [COMMAND]...",
		Short: "Print the manual page of a command, or write all into a directory",
		Long: `Print the manual page of a command in the format of man, or with --dir write those of
all commands into a directory.`,
		Example: "  leasehold man sessions add | man -l -\n  leasehold man --dir /usr/local/share/man/man1",
		RunE: func(cmd *cobra.Command, args []string) error {
			// Without a date it is today, or that of SOURCE_DATE_EPOCH.
			header := &doc.GenManHeader{Section: "1", Source: "Leasehold", Manual: "Leasehold"}
			all(cmd.Root()) // no page says that it was made
			if dir != "" {
				return failure(doc.GenManTree(cmd.Root(), header, dir))
			}
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage(fmt.Errorf("there is no command %q", strings.Join(args, " ")))
			}
			return failure(doc.GenMan(found, header, w))
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory for the pages of all commands; it must be there")
	return cmd
}

// Reference returns the documentation of all commands of a program, as one document in
// Markdown.
func Reference(root *cobra.Command) (string, error) {
	var b bytes.Buffer
	b.WriteString("# Commands\n\nMade from the program by `make docs`: do not edit.\n")
	for _, cmd := range all(root) {
		var one bytes.Buffer
		err := doc.GenMarkdownCustom(cmd, &one, func(file string) string {
			return "#" + strings.ReplaceAll(strings.TrimSuffix(file, ".md"), "_", "-")
		})
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + strings.TrimSpace(one.String()) + "\n")
	}
	return b.String(), nil
}

// all returns a command and all below it that are shown.
func all(cmd *cobra.Command) []*cobra.Command {
	cmd.DisableAutoGenTag = true // it would be a day, and a library
	list := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			list = append(list, all(c)...)
		}
	}
	return slices.Clip(list)
}
