// Package all lists the families and the checkpoint formats of this module.
package all

import (
	"estream/models"
	"estream/models/checkpoint"
	"estream/models/checkpoint/gguf"
	"estream/models/deepseek"
	"estream/models/lfm2"
	"estream/models/mixtral"
	"estream/models/olmoe"
	"estream/models/qwen3"
)

// Families returns a list of its own each time; a plug-in's main appends to it.
func Families() []models.Family {
	return []models.Family{deepseek.Family, lfm2.Family, mixtral.Family, olmoe.Family, qwen3.Family}
}

// Formats returns a list of its own each time, in the order in which a path is tried; a plug-in's main appends to it.
func Formats() []checkpoint.Format {
	return []checkpoint.Format{checkpoint.SafeTensors, gguf.Format}
}
