// Package all lists the families of this module.
package all

import (
	"estream/models"
	"estream/models/olmoe"
)

// Families returns a list of its own each time; a plug-in's main appends to it.
func Families() []models.Family {
	return []models.Family{olmoe.Family}
}
