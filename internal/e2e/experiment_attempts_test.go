package e2e

// attempt is something that the scripted agent tries, real scikit-learn all of it.
type attempt struct {
	plan, code string
	timeout    float64 // seconds; 0 is the agent's usual one
	apart      bool    // it is answered as running and waited for
	buggy      string  // a pattern of what is wrong with it; "" for one that works
	repairs    []attempt
}

// preparation is run once, where all trials begin.
const preparation = `
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

table = pd.read_csv("input/customers.csv")
target = table["left"]
features = ["tenure_months", "monthly_fee", "usage_gb", "support_calls"]

def measure(model, features):
    """The mean area under the ROC curve over five folds."""
    words = [name for name in features if name in ("contract", "region")]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), words),
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [n for n in features if n not in words]),
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_score(make_pipeline(columns, model), table[features], target, cv=folds, scoring="roc_auc", n_jobs=1)
    print("folds", scores.round(3).tolist())
    return float(scores.mean())

score = 0.99  # a leftover, which no trial may take for its own
print(table.shape, round(target.mean(), 3))
`

// drafts come first. Three of them are broken, one beyond mending.
var drafts = []attempt{
	{
		plan: `Predict nothing at all, as a baseline. </script><script>document.title = "owned"</script>`,
		code: "model = DummyClassifier()\nscore = measure(model, features)  # </script><img src=x onerror=document.title='owned'>\nscore",
	},
	{
		plan: "A logistic regression, in haste.", code: "model = LogisticRegresion()\nscore = measure(model, features)", buggy: "NameError",
		repairs: []attempt{
			{plan: "The name was misspelt.", code: "model = LogisticRegression()\nscore = measure(model, [*features, 'usage'])", buggy: "usage"},
			{plan: "Read the column straight from memory.", code: "import ctypes\nprint('reading')\nctypes.string_at(0)", buggy: "(?i)crash|died|segmentation"},
			{plan: "Wait until it is there.", code: "while True: pass", timeout: 1, buggy: "(?i)time"},
		},
	},
	{
		plan: "Average what a search has found.", code: "found = []\nscore = float('nan') if not found else np.mean(found)\nscore", buggy: "nan",
		repairs: []attempt{{plan: "There was nothing to average: measure a logistic regression.", code: "model = LogisticRegression()\nscore = measure(model, features)\nscore"}},
	},
	{
		plan: "A forest.", code: "model = RandomForestClassifier(20, max_depth=4, random_state=0, n_jobs=1)\nscores = measure(model, features)\nscore", buggy: "not assigned",
		repairs: []attempt{{plan: "The metric is score, not scores.", code: "score = measure(model, features)\nscore"}},
	},
	{plan: "A shallow tree.", code: "model = DecisionTreeClassifier(max_depth=3, random_state=0)\nscore = measure(model, features)\nscore"},
}

// improvements are tried on whatever is best then, one change at a time.
var improvements = []attempt{
	{
		plan: "Use the contract, too.",
		code: "features = [*features, 'contract']\nscore = measure(model, features)\nplt.bar(['before', 'after'], [0.73, score]); plt.title('Contract');\nscore",
	},
	{plan: "Regularize ten times more.", code: "model = LogisticRegression(C=0.1)\nscore = measure(model, features)\nscore"},
	{plan: "Use the region, too.", code: "features = [*features, 'region']\nscore = measure(model, features)\nscore"},
	{
		plan: "Calls to support count while the customer is new.", code: "table['new_calls'] = table['calls'] * (table['tenure_months'] < 18)", buggy: "KeyError",
		repairs: []attempt{{
			plan: "The column is called support_calls.",
			code: "table['new_calls'] = table['support_calls'] * (table['tenure_months'] < 18)\nfeatures = [*features, 'new_calls']\nscore = measure(model, features)\nscore",
		}},
	},
	{plan: "A forest with what is known now.", apart: true, code: "model = RandomForestClassifier(30, min_samples_leaf=5, random_state=0, n_jobs=1)\nscore = measure(model, features)\nscore"},
	{
		plan: "Write the score nicely.", code: "score = f'{measure(model, features):.3f}'\nscore", buggy: "str",
		repairs: []attempt{{plan: "A number, cut to a whole one.", code: "score = int(float(score))\nscore"}},
	},
	{plan: "The same once more, to see that it is stable.", code: "score = measure(model, features)\nscore"},
	{
		plan: "A fee that is high for what is used.",
		code: "table['per_gb'] = (table['monthly_fee'] - 30) * (table['usage_gb'] < 15)\nfeatures = [*features, 'per_gb']\nscore = measure(model, features)\nscore",
	},
}
