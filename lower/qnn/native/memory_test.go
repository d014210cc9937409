//go:build linux && (amd64 || arm64) && (cgo || !android)

package native

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fakeRPC is libcdsprpc.so with files of the kernel's, and how many allocations live.
func fakeRPC(t testing.TB) (*RPCMem, *int) {
	maps, files, live := map[uintptr][]byte{}, map[uintptr]int{}, new(int)
	return &RPCMem{
		path: "fake", most: 1 << 20,
		alloc: func(bytes int64) uintptr {
			fd, err := unix.MemfdCreate("rpcmem", 0)
			require.NoError(t, err)
			require.NoError(t, unix.Ftruncate(fd, bytes))
			b, err := unix.Mmap(fd, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			require.NoError(t, err)
			b[0] = 1 // what it was before
			at := uintptr(unsafe.Pointer(&b[0]))
			maps[at], files[at] = b, fd
			*live++
			return at
		},
		file: func(at uintptr) int { return files[at] },
		free: func(at uintptr) {
			require.NoError(t, errors.Join(unix.Munmap(maps[at]), unix.Close(files[at])))
			delete(maps, at)
			*live--
		},
	}, live
}

func TestRPCMem(t *testing.T) {
	r, live := fakeRPC(t)
	m, err := r.Alloc(5000)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 5000), m.Bytes)
	require.NoError(t, m.Free())
	require.EqualError(t, m.Free(), "fake: memory is freed twice")
	r.file = func(uintptr) int { return -1 }
	_, err = r.Alloc(64)
	require.EqualError(t, err, "fake: 64 bytes have no file that the DSP could map")
	require.Zero(t, *live)
	r.alloc = func(int64) uintptr { return 0 }
	_, err = r.Alloc(64)
	require.EqualError(t, err, "fake: no 64 bytes of memory that the DSP shares: give less memory, or run as a user that may open its device")
	_, err = r.Alloc(1<<20 + 1)
	require.EqualError(t, err, "fake: cannot allocate 1048577 bytes: the most is 1048576")
	_, err = OpenRPCMem("/none/libcdsprpc.so")
	require.ErrorContains(t, err, "load /none/libcdsprpc.so: ")
}

// A registry is a library that registers memory, as devices' do: it maps each place
// by its file, and executes with that.
type registry struct {
	t       *testing.T
	table   cInterface
	execute uintptr
	places  map[uintptr][]byte // by handle
	unmap   map[uintptr]func() error
	last    uintptr
}

// register replaces functions of l by a registry's.
func register(t *testing.T, l *Library) *registry {
	r := &registry{t: t, table: *l.table, execute: l.table.fn[graphExecute], places: map[uintptr][]byte{}, unmap: map[uintptr]func() error{}}
	r.table.fn[memRegister] = purego.NewCallback(r.add)
	r.table.fn[memDeRegister] = purego.NewCallback(r.remove)
	r.table.fn[graphExecute] = purego.NewCallback(r.run)
	l.table = &r.table
	return r
}

func (r *registry) add(_ uintptr, d *cMemory, n uintptr, handle *uintptr) uintptr {
	htp := (*cHTPMemory)(d.custom)
	if n != 1 || d.kind != 2 || htp.kind != 1 || d.dtype != uint32(Float32) && d.dtype != uint32(Float16) || htp.size != 1<<16 {
		return 1
	}
	bytes := DType(d.dtype).Size()
	for _, extent := range unsafe.Slice(d.dims, d.rank) {
		bytes *= int(extent)
	}
	b, unmap, err := mapFile(int(htp.fd), int64(htp.offset), bytes)
	if err != nil {
		return 2
	}
	r.last++
	r.places[r.last], r.unmap[r.last], *handle = b, unmap, r.last
	return 0
}

func (r *registry) remove(handles *uintptr, n uintptr) uintptr {
	if n != 1 || r.places[*handles] == nil || r.unmap[*handles]() != nil {
		return 3
	}
	delete(r.places, *handles)
	return 0
}

func (r *registry) run(graph uintptr, in *cTensor, nIn uintptr, out *cTensor, nOut, profile, signal uintptr) uintptr {
	given := slices.Concat(unsafe.Slice(in, nIn), unsafe.Slice(out, nOut))
	for i := range given {
		if c := &given[i]; c.memory == registered {
			b := r.places[uintptr(c.data)]
			if b == nil || c.size != 0 {
				return 4
			}
			c.memory, c.data, c.size = raw, unsafe.Pointer(&b[0]), uint32(len(b))
		}
	}
	var h hold
	defer h.Unpin()
	at := pin(&h, given)
	return uintptr(invoke(symbol(r.execute), graph, uintptr(unsafe.Pointer(at)), nIn, uintptr(unsafe.Pointer(unsafe.Add(unsafe.Pointer(at), nIn*unsafe.Sizeof(*at)))), nOut, profile, signal))
}

// TestBank runs an expert with weights in one region, a bank of three slots that are
// written again and again: with a library that registers memory, and with one that
// does not.
func TestBank(t *testing.T) {
	for _, devices := range []bool{true, false} {
		each(t, func(t *testing.T, x target) {
			b := x.open(t)
			var r *registry
			if devices {
				r = register(t, b.Library)
			}
			c := newContext(t, b)
			call := x.call(t, c, expert("expert", x.dtype, rows, hidden, ffn))
			rpc, live := fakeRPC(t)
			bank, err := rpc.Alloc(1 << 16)
			require.NoError(t, err)
			const slots, weights, slot = 3, 3, 1 << 14
			size := int64(ffn * hidden * x.dtype.Size())
			ports := call.graph.Signature()
			var known [slots][weights]*Memory
			for i := range slots * weights {
				known[i/weights][i%weights], err = c.Register(&ports.In[1+i%weights].Tensor, Shared{FD: bank.FD, Bytes: 1 << 16, Offset: int64(i/weights)*slot + int64(i%weights)*size})
				require.NoError(t, err)
			}
			random := rand.New(rand.NewPCG(7, 8))
			y := make([]byte, rows*hidden*x.dtype.Size())
			for i := range 30 {
				e := newExperiment(random, x.dtype)
				for j, m := range known[i%slots] {
					copy(bank.Bytes[int64(i%slots)*slot+int64(j)*size:], e.in[1+j])
					require.NoError(t, call.Use(ports.In[1+j].Name, m))
				}
				require.NoError(t, call.Execute([][]byte{e.in[0], nil, nil, nil}, [][]byte{y}))
				requireClose(t, e.want, decode(x.dtype, y), x.tolerance())
			}
			require.ErrorContains(t, call.Execute([][]byte{y, nil, nil, make([]byte, size)}, [][]byte{y}), "input down.w: it stands in memory that is registered, and has no buffer")
			for _, ms := range known {
				for _, m := range ms {
					require.NoError(t, m.Close())
					require.NoError(t, m.Close(), "again")
				}
			}
			require.ErrorContains(t, call.Execute([][]byte{y, nil, nil, nil}, [][]byte{y}), "input gate.w: it stands in memory that is registered")
			if devices {
				require.Equal(t, uintptr(slots*weights), r.last)
				require.Empty(t, r.places)
			}
			require.NoError(t, bank.Free())
			require.Zero(t, *live)
		})
	}
}
