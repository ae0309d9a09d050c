"""Sphinx's settings for the course's site; ``make site`` builds it."""

project = "A PyTorch course that checks your answers"
html_title = "A PyTorch course"
author = "the authors of the course"
project_copyright = "by its authors: text and pictures under CC BY 4.0, code under MIT"
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "course_site.mathematics",
    "course_site.diagrams",
]
exclude_patterns = ["_made"]
source_suffix = {".ipynb": "myst-nb", ".md": "myst-nb"}

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 3
# Committed notebooks are shown as they are: nothing runs while the site is built.
nb_execution_mode = "off"
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "text/vnd.mermaid", None)]
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"

autodoc_typehints = "description"
autodoc_member_order = "bysource"

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_static_path = ["static"]
html_css_files = ["course.css"]
html_js_files = ["course.js"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_domain_indices = False
html_use_index = False
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "A PyTorch course"},
    "navbar_align": "left",
    "navbar_center": ["navbar-nav"],
    "navbar_end": ["theme-switcher"],
    "navigation_depth": 2,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": {
        folder: ["page-toc"] for folder in ("chapters/**", "instructors/**", "authors/**")
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def setup(app):
    """Add what is made for each site: which sections teach a name, for the search page alone."""
    app.config.html_static_path.append(str(app.srcdir / "_made"))

    def for_search(app, page, template, context, doctree):
        if page == "search":
            app.add_js_file("names.js")

    app.connect("html-page-context", for_search)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
