package doctor

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"estream/lower/qnn/find"
)

func (r *Report) memory(s find.System) {
	const area = "memory"
	if total := meminfo(s, "MemTotal"); total > 0 {
		r.add(area, "memory", OK, fmt.Sprintf("%s, %s of it available", size(total), size(meminfo(s, "MemAvailable"))), "")
	} else {
		r.add(area, "memory", Note, s.OS+" is not asked for its size: give --memory to run", "")
	}
	if s.OS != "linux" && s.OS != "android" {
		return
	}
	limit, where := groupLimit(s, "memory")
	switch {
	case limit == "":
		r.add(area, "limit", OK, "none", "")
	default:
		n, _ := strconv.ParseInt(limit, 10, 64) // 0 would be said as it is
		r.add(area, "limit", Note, fmt.Sprintf("%s in %s: what is over it is killed; run --memory keeps below", size(n), where), "")
	}
	if quota, where := groupLimit(s, "cpu"); quota != "" {
		r.add(area, "processor time", Note, fmt.Sprintf("%s microseconds in %s: more threads do not help", quota, where), "")
	}
	huge := s.Text("/sys/kernel/mm/transparent_hugepage/enabled")
	switch {
	case huge == "":
		r.add(area, "huge pages", Note, "the kernel has none: an arena of small pages costs some speed", "")
	case strings.Contains(huge, "[never]"):
		r.add(area, "huge pages", Note, "turned off: echo madvise >/sys/kernel/mm/transparent_hugepage/enabled, as root, turns them on", "")
	default:
		r.add(area, "huge pages", OK, huge, "")
	}
}

// meminfo is a line of /proc/meminfo in bytes, 0 if there is none.
func meminfo(s find.System, name string) int64 {
	for line := range strings.Lines(s.Text("/proc/meminfo")) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// groupLimit is the least limit of this process's control groups, and the file it
// is in; "" if there is none.
func groupLimit(s find.System, kind string) (limit, where string) {
	files := map[string][2]string{"memory": {"memory.max", "memory.limit_in_bytes"}, "cpu": {"cpu.max", "cpu.cfs_quota_us"}}[kind]
	least := 0.0
	for line := range strings.Lines(s.Text("/proc/self/cgroup")) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) < 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", files[0]
		if part[1] != "" { // the first version
			if !strings.Contains(","+part[1]+",", ","+kind+",") {
				continue
			}
			root, file = path.Join(root, part[1]), files[1]
		}
		for dir := path.Clean("/" + part[2]); ; dir = path.Dir(dir) {
			at := path.Join(root, dir, file)
			if share, text := limited(s.Text(at)); text != "" && (limit == "" || share < least) {
				limit, where, least = text, at, share
			}
			if dir == "/" {
				break
			}
		}
	}
	return limit, where
}

// limited reads a file of a limit: how much it allows, and how that is said; "" if
// it is none.
func limited(text string) (share float64, said string) {
	part := strings.Fields(text)
	if len(part) == 0 {
		return 0, ""
	}
	n, err := strconv.ParseFloat(part[0], 64)
	if err != nil || n < 0 || n > 1<<62 { // max, -1, or as much as there can be
		return 0, ""
	}
	if len(part) == 2 { // of each period
		period, err := strconv.ParseFloat(part[1], 64)
		if err != nil || period <= 0 {
			return 0, ""
		}
		return n / period, part[0] + " of each " + part[1]
	}
	return n, part[0]
}

// size says bytes.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d B", n)
}
