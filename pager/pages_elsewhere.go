//go:build !linux

package pager

func inCore(_, _, _ int64) bool { return false }
