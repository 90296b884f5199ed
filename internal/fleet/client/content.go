package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/fleet/view"
)

const maxList = 1 << 28 // bytes of a list of builds, or of a report

// Builds returns the builds of the collector at base. ok is false if base is not the URL of a collector.
func (c *Client) Builds(ctx context.Context, base string) (builds []tally.Build, ok bool, err error) {
	data, err := c.Get(ctx, base+"/v1/builds", maxList)
	if e := (*Error)(nil); errors.As(err, &e) && e.Status == http.StatusNotFound {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	list := struct {
		Builds []tally.Build `json:"builds"`
	}{}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, false, fmt.Errorf("%s: not a response of a collector: %w", base, err)
	}
	return list.Builds, true, nil
}

// ProfileURL returns the URL of the profile of a build.
func ProfileURL(base string, b *tally.Build) string {
	return base + "/" + url.PathEscape(b.Program) + "@" + b.Build
}

// Report returns the report of the collector at base about a build.
func (c *Client) Report(ctx context.Context, base string, b *tally.Build) (*view.Report, error) {
	target := ProfileURL(base+"/v1/view", b)
	data, err := c.Get(ctx, target, maxList)
	if err != nil {
		return nil, err
	}
	r := new(view.Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: not a response of a collector: %w", target, err)
	}
	return r, nil
}
