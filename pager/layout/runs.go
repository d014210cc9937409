package layout

// RunColumns returns how many columns each run of the head's panels has when n
// columns are cut into at most (about) runs runs: a multiple of panel, all runs
// alike but the last. Cutting by the number of runs that results gives the same
// answer, so a reader needs only count the records.
func RunColumns(n, runs, panel int) int {
	each := (n + runs - 1) / runs
	return (each + panel - 1) / panel * panel
}
