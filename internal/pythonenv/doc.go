// Package pythonenv finds the Python that workers run, and prepares an
// environment with the scientific libraries.
//
// The words:
//
//   - candidate: a Python that may be there, with the reason to look for it.
//   - environment: the virtual environment that Prepare makes, in the
//     directory "python" of the data directory.
//   - base: the Python that the environment is made from.
//   - lock: the pinned requirements, as pip reads them.
//   - stamp: the file in the environment that says what was installed; written
//     last, so an environment without one is half made.
package pythonenv
