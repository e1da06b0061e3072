# scipy and statsmodels: fits, integrals, sparse matrices, tests.
# needs: scipy statsmodels
import numpy as np
import statsmodels.api as sm
from scipy import fft, integrate, optimize, sparse, stats
from scipy.io import loadmat, savemat

assert abs(integrate.quad(np.sin, 0, np.pi)[0] - 2) < 1e-9
assert optimize.minimize(lambda p: ((p - 3) ** 2).sum(), np.zeros(4)).success
assert (sparse.eye(1000) @ np.ones(1000)).sum() == 1000
assert stats.ttest_ind(np.arange(50), np.arange(50) + 20).pvalue < 0.05
assert len(fft.fft(np.ones(4096), workers=2)) == 4096
savemat("x.mat", {"x": np.arange(5)})
assert loadmat("x.mat")["x"].sum() == 10
x = sm.add_constant(np.arange(100.0))
fit = sm.OLS(x @ [2, 3], x).fit()
assert np.allclose(fit.params, [2, 3]) and "R-squared" in str(fit.summary())
print("ok")
