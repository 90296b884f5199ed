package flamegraph

// For the tests of the page that draws the data.
var (
	Small         = small
	SmallDiff     = smallDiff
	Sampled       = sampled
	SampleThreads = sampleThreads
	SampleDiff    = sampleDiff
	SampleProfile = sampleProfile
)
