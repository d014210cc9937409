package native

import "fmt"

// A function is a place in the table of cInterface.
type function int

const (
	backendCreate                 function = 1
	backendGetBuildID             function = 4
	backendGetSupportedOperations function = 6
	backendValidateOpConfig       function = 7
	backendFree                   function = 8
	contextCreate                 function = 9
	contextGetBinarySize          function = 11
	contextGetBinary              function = 12
	contextCreateFromBinary       function = 13
	contextFree                   function = 14
	graphCreate                   function = 15
	graphAddNode                  function = 18
	graphFinalize                 function = 19
	graphRetrieve                 function = 20
	graphExecute                  function = 21
	tensorCreateGraphTensor       function = 24
	logCreate                     function = 25
	logFree                       function = 27
	memRegister                   function = 35
	memDeRegister                 function = 36
	deviceCreate                  function = 40
	deviceFree                    function = 43
	errorGetMessage               function = 48
)

func (f function) String() string {
	switch f {
	case backendCreate:
		return "backendCreate"
	case backendGetBuildID:
		return "backendGetBuildId"
	case backendGetSupportedOperations:
		return "backendGetSupportedOperations"
	case backendValidateOpConfig:
		return "backendValidateOpConfig"
	case backendFree:
		return "backendFree"
	case contextCreate:
		return "contextCreate"
	case contextGetBinarySize:
		return "contextGetBinarySize"
	case contextGetBinary:
		return "contextGetBinary"
	case contextCreateFromBinary:
		return "contextCreateFromBinary"
	case contextFree:
		return "contextFree"
	case graphCreate:
		return "graphCreate"
	case graphAddNode:
		return "graphAddNode"
	case graphFinalize:
		return "graphFinalize"
	case graphRetrieve:
		return "graphRetrieve"
	case graphExecute:
		return "graphExecute"
	case tensorCreateGraphTensor:
		return "tensorCreateGraphTensor"
	case logCreate:
		return "logCreate"
	case logFree:
		return "logFree"
	case memRegister:
		return "memRegister"
	case memDeRegister:
		return "memDeRegister"
	case deviceCreate:
		return "deviceCreate"
	case deviceFree:
		return "deviceFree"
	case errorGetMessage:
		return "errorGetMessage"
	}
	return fmt.Sprintf("function %d", int(f))
}
