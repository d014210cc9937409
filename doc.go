// Package estream is the root of a toolkit that runs Mixture-of-Experts language
// models on machines whose memory they do not fit. It holds nothing but tests of
// the whole tree; README.md says where each part lives.
package estream
