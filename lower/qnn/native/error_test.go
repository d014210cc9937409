package native

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrors(t *testing.T) {
	const log = "; the library's log says why"
	for _, c := range []struct {
		e    Error
		want string
	}{
		{Error{Call: "graphAddNode", Of: "graph g: node n (MatMul)", Code: 3110, Name: "QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE"},
			"graph g: node n (MatMul): graphAddNode: QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE (3110): not with these types, shapes and encodings, or not with weights that are bound" + log},
		{Error{Call: "graphFinalize", Of: "graph g", Code: 1002}, "graph g: graphFinalize: error 1002: the graph cannot be composed, as RmsNorm without beta cannot" + log},
		{Error{Call: "contextCreate", Of: "l", Code: 1002}, "l: contextCreate: error 1002: free memory"},
		{Error{Call: "graphAddNode", Of: "g", Code: 1000}, "g: graphAddNode: error 1000: this library, or the SoC it was started for, lacks the feature or the type: lower the graph otherwise"},
		{Error{Call: "backendCreate", Of: "l", Code: 4000}, "l: backendCreate: error 4000: the library does not run on this machine"},
		{Error{Call: "contextCreateFromBinary", Of: "l", Code: 5005}, "l: contextCreateFromBinary: error 5005: load it with the QAIRT and the SoC it was made for, where the same graph has not been prepared"},
		{Error{Call: "graphExecute", Of: "g", Code: 6004}, "g: graphExecute: error 6004: give tensors the extents that the graph was finalized with"},
		{Error{Call: "graphFinalize", Of: "g", Code: 6022}, "g: graphFinalize: error 6022: the graph cannot be finished, or its file not written, as where the disk is full; the library's log says why"},
		{Error{Call: "graphAddNode", Of: "g", Code: 6022}, "g: graphAddNode: error 6022: a finalized graph cannot be changed: build another"},
		{Error{Call: "tensorCreateGraphTensor", Of: "g", Code: 7004}, "g: tensorCreateGraphTensor: error 7004: the library takes no tensor of this type: 4-bit integers stand in bytes, floats of the CPU library are f32"},
		{Error{Call: "deviceCreate", Of: "l", Code: 14001}, "l: deviceCreate: error 14001: the library does not know this SoC: choose another, or a later QAIRT"},
		{Error{Call: systemContextGetMetaData, Of: "l", Code: 5001}, "l: systemContextGetMetaData: error 5001: it is no context binary that this QAIRT reads"},
		{Error{Call: "graphExecute", Of: "g", Code: 9}, "g: graphExecute: error 9"},
	} {
		err := failure(c.e.Call, c.e.Of, 0xdead<<16|uint64(c.e.Code)).(*Error)
		err.Name = c.e.Name
		require.EqualError(t, err, c.want)
	}
	require.NoError(t, failure("graphExecute", "g", 0))
}
