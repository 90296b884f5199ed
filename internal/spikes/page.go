package spikes

// Page is the content of the view of spikes.
type Page struct {
	Title       string
	Reach       []string    // sentences
	Notes       []string    // what is not ranked: freezes, and waits for work
	Spikes      []*Object   // in the order of the list
	Timelines   []*Timeline // of the spikes, nil for those with unknown calls; may be empty
	Late        Late        // how much of the late time the rows explain
	Left        int         // stacks that the page leaves out
	Open        []*Object   // calls that have not ended and are late: those that may have been idle are last
	OpenLeft    int         // such calls that the page leaves out
	Suggestions []Suggestion
}
