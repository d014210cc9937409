package native

import (
	"archive/zip"
	"io"
	"path/filepath"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/stretchr/testify/require"
)

// TestDLC writes a graph as a DLC and reads it: its inputs and outputs are those of the
// description.
func TestDLC(t *testing.T) {
	path := filepath.Join(t.TempDir(), "expert.dlc")
	d := expert("expert", Float32, rows, hidden, ffn)
	job := &Job{Library: library(t, "libQnnIr.so"), Options: GraphOptions{DLC: path}, Graphs: []Desc{*d}}
	_, err := job.Run()
	require.NoError(t, err)
	z, err := zip.OpenReader(path)
	require.NoError(t, err)
	defer z.Close()
	parts := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		parts[f.Name], err = io.ReadAll(r)
		require.NoError(t, err)
	}
	require.Contains(t, parts, "model.params")
	graphs, err := ReadDLC(parts["model"])
	require.NoError(t, err)
	require.Len(t, graphs, 1)
	require.Equal(t, "expert", graphs[0].Graph)
	plain := func(ports []Port) (list []Tensor) {
		for _, p := range ports {
			require.NotZero(t, p.ID)
			list = append(list, p.Tensor)
		}
		return list
	}
	require.Equal(t, d.Inputs(), plain(graphs[0].In))
	require.Equal(t, d.Outputs(), plain(graphs[0].Out))
}

// modelOf is the part "model" of a DLC with one graph for each list of tensors, as
// another writer would lay it out.
func modelOf(graphs ...[]Port) []byte {
	b := flatbuffers.NewBuilder(0)
	list := func(at []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
		b.StartVector(4, len(at), 4)
		for i := len(at) - 1; i >= 0; i-- {
			b.PrependUOffsetT(at[i])
		}
		return b.EndVector(len(at))
	}
	var tables []flatbuffers.UOffsetT
	for _, ports := range graphs {
		var tensors []flatbuffers.UOffsetT
		for _, p := range ports {
			name := b.CreateString(p.Name)
			b.StartVector(4, len(p.Dims), 4)
			for i := len(p.Dims) - 1; i >= 0; i-- {
				b.PrependUint32(uint32(p.Dims[i]))
			}
			dims := b.EndVector(len(p.Dims))
			b.StartObject(7)
			b.PrependUint32Slot(0, p.ID, 0)
			b.PrependUOffsetTSlot(1, name, 0)
			b.PrependUint32Slot(2, uint32(p.Kind), 0)
			b.PrependUOffsetTSlot(3, dims, 0)
			b.PrependUint32Slot(6, uint32(p.Type), 0)
			tensors = append(tensors, b.EndObject())
		}
		all, name := list(tensors), b.CreateString("g")
		b.StartObject(3)
		b.PrependUOffsetTSlot(0, name, 0)
		b.PrependUOffsetTSlot(2, all, 0)
		tables = append(tables, b.EndObject())
	}
	all := list(tables)
	b.StartObject(1)
	b.PrependUOffsetTSlot(0, all, 0)
	b.FinishWithFileIdentifier(b.EndObject(), []byte("NETD"))
	return append([]byte(dlcHeader+"\x01\x00\x00\x00"), b.FinishedBytes()...)
}

func portOf(id uint32, name string, kind Kind, d DType, dims ...int) Port {
	return Port{Tensor{Name: name, Kind: kind, Type: d, Dims: dims}, id}
}

var (
	portX     = portOf(1, "x", AppWrite, Float16, 2, 3)
	portState = portOf(4, "state", appReadWrite, UFixed8, 64)
	portY     = portOf(5, "y", AppRead, Float32, 2, 0xffff)
	someModel = modelOf([]Port{portX, portOf(2, "t", Native, Float16, 2, 3), portOf(3, "c", Static, Int32, 1), portState, portY}, nil)
)

func TestReadDLC(t *testing.T) {
	got, err := ReadDLC(someModel)
	require.NoError(t, err)
	require.Equal(t, []Signature{{"g", []Port{portX, portState}, []Port{portState, portY}}, {Graph: "g"}}, got)

	got, err = ReadDLC(modelOf())
	require.NoError(t, err)
	require.Empty(t, got)

	_, err = ReadDLC([]byte("\xd5\x0a\x03\x00 and so on"))
	require.ErrorIs(t, err, ErrDLCForm)
	require.EqualError(t, err, `the part begins with "\xd5\n\x03\x00", want "\xd5\n\x04\x00": graphs of another form than QAIRT 2 writes`)
	_, err = ReadDLC(nil)
	require.ErrorIs(t, err, ErrDLCForm)
	_, err = ReadDLC([]byte(dlcHeader))
	require.EqualError(t, err, "damaged: nothing of a graph can stand at 8 of 8 bytes")
	_, err = ReadDLC(modelOf([]Port{portOf(1, "x", AppWrite, Float16, make([]int, maxRank+1)...)}))
	require.ErrorContains(t, err, "damaged: ", "a rank that no tensor has")
}

// A file that is cut, or one whose list counts more than there is, is an error.
func TestReadDLCDamaged(t *testing.T) {
	for n := range someModel[:len(someModel)-8] { // the last name's padding apart
		_, err := ReadDLC(someModel[:n])
		require.Error(t, err, "cut at %d of %d", n, len(someModel))
	}
	for at := 4 + dlcHeaderSize; at+4 <= len(someModel); at += 4 {
		bad := append([]byte(nil), someModel...)
		copy(bad[at:], "\xff\xff\xff\x7f")
		if got, err := ReadDLC(bad); err == nil {
			require.LessOrEqual(t, len(got), 2, "word at %d", at) // it was a number of a tensor's, or a name
		}
	}
}

func FuzzReadDLC(f *testing.F) {
	f.Add(someModel)
	f.Add(modelOf())
	f.Add([]byte(dlcHeader))
	f.Fuzz(func(t *testing.T, model []byte) {
		graphs, err := ReadDLC(model)
		ports := 0
		for _, g := range graphs {
			ports += max(len(g.In), len(g.Out))
		}
		if err != nil && graphs != nil || leastTensor*(len(graphs)+ports) > len(model) {
			t.Errorf("%d graphs with %d inputs and outputs of %d bytes, %v", len(graphs), ports, len(model), err)
		}
	})
}
