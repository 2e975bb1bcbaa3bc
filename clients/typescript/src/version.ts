/** The version of this package, which is that of package.json. */
export const version = '0.1.0';
