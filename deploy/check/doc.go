// Package check tries what deploy/ holds without running it: manifests, the compose
// file, alert rules, the dashboard, the unit of systemd and the release's packages. It is
// a module of its own, so that what it needs is nothing that the product needs.
package check
