package host

import (
	"context"

	"github.com/shirou/gopsutil/v4/cpu"
)

// Resources is the capacity of the machine or the limit of the container. Unknown
// values are 0.
type Resources struct {
	Cores           float64
	MemoryTotal     uint64 // bytes
	MemoryAvailable uint64 // bytes
}

// Resources returns the current resources.
func (r *Reader) Resources(ctx context.Context) Resources {
	var resources Resources
	processors, err := cpu.CountsWithContext(ctx, true)
	if err == nil {
		resources.Cores = float64(processors)
	}
	if limited, _, ok := processorsOf(r.root, processors); ok {
		resources.Cores = limited.processors
	}
	if ram := r.readRAM(ctx); ram != nil {
		const mb = 1 << 20
		resources.MemoryTotal = uint64(ram.TotalMB * mb)
		resources.MemoryAvailable = uint64((ram.Free + ram.Cached + ram.Buffers) * mb)
	}
	return resources
}
