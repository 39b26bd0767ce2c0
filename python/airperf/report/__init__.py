"""What we claim: one offline HTML file per study or run, with its figures as SVG beside it."""
