"""A page that explores and steers a kernel: its values, the page, and the server that answers it. The doors are `page.page` and `server.serve`."""
