package kernel

type (
	tileSet struct{}
	fmaSet  struct{}
	vecSet  struct{}
)
