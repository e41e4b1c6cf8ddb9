"""Reports as one page of HTML that fetches nothing, and the small tables that notebooks show."""
