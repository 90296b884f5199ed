//go:build cairn && !linux

package mark

import "time"

func nap(ns int64) { time.Sleep(time.Duration(ns)) }
