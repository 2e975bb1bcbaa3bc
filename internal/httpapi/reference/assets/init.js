Redoc.init("/openapi.json", {nativeScrollbars: true}, document.getElementById("reference"));
