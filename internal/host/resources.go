package host

import (
	"context"

	"github.com/shirou/gopsutil/v4/cpu"
)

// Resources is what the machine, or the container's limit, has for whoever
// runs there. What cannot be had is 0.
type Resources struct {
	Cores           float64
	MemoryTotal     uint64 // bytes
	MemoryAvailable uint64 // bytes that can be used without taking them from anybody
}

// Resources reads what there is and what is left of it.
func (r *Reader) Resources(ctx context.Context) Resources {
	var has Resources
	processors, err := cpu.CountsWithContext(ctx, true)
	if err == nil {
		has.Cores = float64(processors)
	}
	if limited, _, ok := processorsOf(r.root, processors); ok {
		has.Cores = limited.processors
	}
	if ram := r.readRAM(ctx); ram != nil {
		const mb = 1 << 20
		has.MemoryTotal = uint64(ram.TotalMB * mb)
		has.MemoryAvailable = uint64((ram.Free + ram.Cached + ram.Buffers) * mb)
	}
	return has
}
