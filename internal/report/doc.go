// Package report makes what people read out of a journal: the files of an
// experiment (journal.json, config.yaml, tree_plot.html, best_solution.py,
// report.md), and notebooks, pages and scripts of what an interpreter ran. It needs
// no server and no model, and the same journal gives the same files.
//
// All but the saver and the copying of figures is a pure function of a journal's values. The
// saver reads the journal like any reader, so an answer never waits for files; it rests four
// times as long as writing took, and is closed after the journal. Images are read from the
// journal's own files alone: a path in a session's directory may be a link by now. The tree's
// page draws journal.json; it allows its own style and script by their hashes, and its data is
// escaped JSON that the script sets as text.
//
// A script is the Python that ran, as workers tell it: a cell with magics became calls of
// get_ipython(). What awaits at top level and what failed are texts that understudy_run runs,
// under try where they failed, as indenting code would break its strings; so is all of a
// journal whose worker did not tell, by IPython where it is no Python. A notebook begins with a cell
// that has IPython print as the session did; it wraps values in the syntax tree, as IPython's
// ";" silences a whole cell and ours one statement. What was ended from outside is text there:
// it might never end, and a SIGINT that the kernel sends itself closes the sockets of
// ipykernel 7. Other servers' tools are not called again: a module that stands in for mcptools
// gives the results that the journal keeps, in their order, and names calls as loosely as
// Python's names are made of theirs.
package report
