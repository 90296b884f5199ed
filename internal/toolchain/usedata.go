package toolchain

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/layout/linkorder"
)

// useData is the copy of the order file with data in the cache.
const useData = "use.data"

// loadDataOrder reads the order file that --data-order names and records its digest.
func (u *useOptions) loadDataOrder() error {
	if u.DataOrder == "" {
		return nil
	}
	path, err := filepath.Abs(u.DataOrder)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := linkorder.ParseData(text); err != nil {
		return fmt.Errorf("%s: %w", u.DataOrder, err)
	}
	u.DataOrder, u.DataDigest = path, dataDigest(text)
	return nil
}

func dataDigest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// copyDataOrder puts the order file into tmp, so that all of a build sees the same one.
func (u *useOptions) copyDataOrder(tmp string) error {
	if u.DataOrder == "" {
		return nil
	}
	text, err := os.ReadFile(u.DataOrder)
	if err != nil {
		return err
	}
	if dataDigest(text) != u.DataDigest {
		return errors.New("the order of data has changed since the build started; restart the build")
	}
	return os.WriteFile(filepath.Join(tmp, useData), text, 0o644)
}

// dataLines returns the lines of an order file for data, none if the build or the format has none.
func (b *useBuild) dataLines(format linkorder.Format) ([]byte, error) {
	if b.opts.DataOrder == "" || !format.HasData() {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(b.dir, useData))
	if err != nil {
		return nil, err
	}
	data, err := linkorder.ParseData(text)
	if err != nil {
		return nil, err
	}
	return linkorder.RenderData(format, data), nil
}
