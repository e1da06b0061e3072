// Package report makes what people read out of a journal: the files of an
// experiment (journal.json, config.yaml, tree_plot.html, best_solution.py,
// report.md), and notebooks, pages and scripts of what an interpreter ran. It needs
// no server and no model, and the same journal gives the same files.
package report
