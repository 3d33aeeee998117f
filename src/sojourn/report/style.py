"""The frame of a page: everything inline, no script, readable on paper and on a phone."""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light; }}
body {{ font: 16px/1.5 Georgia, "Times New Roman", serif; color: #1a1a1a;
  background: #fff; max-width: 54rem; margin: 2rem auto; padding: 0 1rem; }}
h1, h2 {{ font-family: system-ui, "Helvetica Neue", Arial, sans-serif; line-height: 1.2; }}
h1 {{ font-size: 1.9rem; margin: 0 0 .3rem; }}
h2 {{ font-size: 1.25rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #ccc; padding-bottom: .2rem; }}
header p {{ color: #444; margin: 0; }}
.findings {{ background: #f4f6f8; border-left: 4px solid #0072B2; padding: .7rem 1rem .7rem 2rem; }}
.warn {{ border-left: 4px solid #D55E00; background: #fdf3ec; padding: .5rem 1rem; }}
table {{ border-collapse: collapse; font: .82rem/1.35 system-ui, "Helvetica Neue", Arial, sans-serif;
  width: 100%; margin: .6rem 0; }}
th {{ text-align: left; border-bottom: 1.5px solid #333; padding: .25rem .5rem; vertical-align: bottom; }}
td {{ padding: .2rem .5rem; vertical-align: top; border-bottom: 1px solid #eee; }}
tr.first td {{ border-top: 1px solid #999; }}
tr.best td {{ font-weight: 600; }}
.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
figure {{ margin: 1.2rem 0; break-inside: avoid; }}
img {{ width: 100%; height: auto; }}
figcaption {{ font-size: .85rem; color: #444; }}
pre {{ background: #f6f6f6; border: 1px solid #ddd; padding: .7rem; overflow-x: auto; font-size: .8rem; line-height: 1.4; }}
code {{ font-size: .88em; overflow-wrap: anywhere; }}
footer {{ margin: 2.5rem 0 1rem; padding-top: .6rem; border-top: 1px solid #ccc; font-size: .8rem; color: #555; }}
@media print {{ body {{ max-width: none; font-size: 11pt; }} details {{ display: none; }} }}
</style>
</head>
<body>
{body}
</body>
</html>
"""
