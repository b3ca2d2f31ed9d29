package main

import (
	"context"
	"time"

	"leasehold/config"
	"leasehold/results"
	"leasehold/results/webhook"
)

// sinkLimit bounds what the sinks get to empty their queues when the node stops.
const sinkLimit = 5 * time.Second

// outlets are the ways of results out of the node, beside the stream.
type outlets struct {
	*results.Hub

	hooks []*webhook.Sink
}

// outlets makes the sinks of the settings.
func (n nodeSpec) outlets(ctx context.Context) (outlets, error) {
	var o outlets
	var sinks []results.Sink
	for _, kind := range n.cfg.ResultSinks {
		switch kind {
		case config.SinkStdout:
			sinks = append(sinks, results.NewLines(n.stdout))
		case config.SinkWebhook:
			hook, err := webhook.New(webhook.Config{
				URL: string(n.cfg.ResultWebhookURL), Secret: string(n.cfg.ResultWebhookSecret), Version: build().version,
			})
			if err != nil {
				return outlets{}, err
			}
			sinks, o.hooks = append(sinks, hook), append(o.hooks, hook)
		}
	}
	o.Hub = results.NewHub(ctx, n.log, sinks...)
	return o, nil
}

// flush gives the sinks their time, within ctx, and closes them.
func (o outlets) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sinkLimit)
	defer cancel()
	o.Close(ctx)
	for _, hook := range o.hooks {
		hook.Close()
	}
}
