"""The Python half of a worker: the process that runs a session's code.

The words, used in this sense everywhere:

- session: one live interpreter with its variables and working directory;
- execution: one run of code in a session, numbered; its code is a *cell*; or one
  call of a plugin;
- plugin: a function of the operator's that code calls by name; a *helper* is a
  module beside plugins that they import;
- frame: one message between the Go half and this one (see protocol.py);
- namespace: the dict of the module ``__main__``, where the user's code lives;
- record: the fields of a ``done`` frame, which say how an execution ended;
- worker: a process that runs a session's code, the *lead* when a copy stands by;
- copy: a fork of an idle worker that sleeps until it is woken. An *understudy*
  takes the place of its dead original, a *branch* becomes another session;
- forker: a process that forks workers and runs no code of the user's: *root*,
  a bare Python, and the *zygote*, which has imported what sessions want.

docs/architecture.md draws the processes. On Linux the last three kinds are in one tree, each
with a socket to the server; elsewhere the server starts each worker by itself, and there
are no copies.

A worker can be copied while nothing runs that a fork would not bring along:
fork/obstacles.py and fork/native.py look after each execution, and before each fork,
and end threads that only wait for more work.

The descriptors of a worker on Unix::

        Go                                 worker
                                      0 <- the null device
     output pump  <------- pipe ----- 1    print, os.write, C printf, children
     output pump  <------- pipe ----- 2
     frames       <-- socket pair --> 1100 or higher, or 100 where the limit is low
     fault reader <------- pipe -----      as high: faulthandler, on a crash only
                                           as high: spare copies of 0, 1 and 2

A copy has a socket of its own and shares the rest with its original, until it
is woken as a branch: then it gets others in their place, under the same numbers.
Pipes, connections and terminals of the user's code stay with the original
(openfiles.py); files on disk are shared, with their offsets.

Nothing that code prints can reach the frames, and code that closes or replaces
the low descriptors is repaired from the spare copies. Code that closes every
descriptor there is (``os.closerange(3, 65536)``) ends its worker.

An execution passes through the modules like this::

    loop -> executor -> workdir     back to the working directory
                        capture     streams of our own
                        compiler    code -> parts, with the values to echo
                        plugins     or the call of one
                        figures     around the run
                        encode      the asked variable as JSON
                        metric      the variable that measures it, if one does
                        tracebacks  or the exception
                        variables   what has changed
         -> protocol    the record goes back

The worker needs the standard library alone, Python 3.10 or newer. numpy, pandas
and matplotlib are met in sys.modules when the user has imported them.
"""
