# Signals: alarms, timers, handlers, masks, waiting for them, and for a process.
# brief
import os
import signal
import threading
import time


class Rang(Exception):
    pass


def ring(*_):
    raise Rang


signal.signal(signal.SIGALRM, ring)
for arm in (lambda: signal.alarm(1)), (lambda: signal.setitimer(signal.ITIMER_REAL, 0.02)):
    try:
        arm()
        time.sleep(60)
        raise AssertionError("no alarm")
    except Rang:
        pass
signal.signal(signal.SIGALRM, signal.SIG_DFL)
heard = []
signal.signal(signal.SIGUSR1, lambda *_: heard.append("USR1"))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
assert heard == ["USR1"] * 3
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
os.kill(os.getpid(), signal.SIGUSR2)
assert signal.sigwait({signal.SIGUSR2}) == signal.SIGUSR2
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR2})
if hasattr(os, "pidfd_open") and hasattr(os, "P_PIDFD"):
    child = os.fork()
    if child == 0:
        os._exit(7)
    pidfd = os.pidfd_open(child)
    assert os.waitid(os.P_PIDFD, pidfd, os.WEXITED).si_status == 7
    os.close(pidfd)
print("ok")
