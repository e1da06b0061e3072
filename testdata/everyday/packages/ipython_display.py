# IPython's display, as in notebooks.
# needs: IPython
from IPython.display import HTML, Markdown, display

display(Markdown("**bold**"))
display(HTML("<b>bold</b>"), {"a": 1})
print("ok")
