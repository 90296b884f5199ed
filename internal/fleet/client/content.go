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
	for after := ""; ; {
		list := struct {
			Builds []tally.Build `json:"builds"`
			Next   string        `json:"next"`
		}{}
		err := c.page(ctx, base+"/v1/builds", after, &list)
		if e := (*Error)(nil); errors.As(err, &e) && e.Status == http.StatusNotFound {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		builds = append(builds, list.Builds...)
		if list.Next == "" {
			return builds, true, nil
		}
		if list.Next == after {
			return nil, false, fmt.Errorf("%s: not a response of a collector: its next page is the same", base)
		}
		after = list.Next
	}
}

// page gets a page of an answer in JSON: the one behind the position after.
func (c *Client) page(ctx context.Context, target, after string, into any) error {
	if _, err := CheckURL(target); err != nil {
		return err
	}
	if after != "" {
		target += "?after=" + url.QueryEscape(after)
	}
	data, err := c.get(ctx, target, maxList)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: not a response of a collector: %w", target, err)
	}
	return nil
}

// ProfileURL returns the URL of the profile of a build.
func ProfileURL(base string, b *tally.Build) string {
	return base + "/" + url.PathEscape(b.Program) + "@" + b.Build
}

// Report returns the report of the collector at base about a build.
func (c *Client) Report(ctx context.Context, base string, b *tally.Build) (*view.Report, error) {
	target := ProfileURL(base+"/v1/view", b)
	first := new(view.Report)
	if err := c.page(ctx, target, "", first); err != nil {
		return nil, err
	}
	for first.Next != "" {
		more := new(view.Report)
		if err := c.page(ctx, target, first.Next, more); err != nil {
			return nil, err
		}
		if more.Next == first.Next {
			return nil, fmt.Errorf("%s: not a response of a collector: its next page is the same", target)
		}
		first.Spikes, first.Next = append(first.Spikes, more.Spikes...), more.Next
	}
	return first, nil
}
