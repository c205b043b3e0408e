/*
 * The paths that the library serves, and that of the page of the site on which a user answers.
 */

export const AUTHORIZE_PATH = '/oauth/authorize';
export const CONSENT_PATH = '/oauth/consent';
export const TOKEN_PATH = '/oauth/token';
export const REGISTER_PATH = '/oauth/register';
export const REVOKE_PATH = '/oauth/revoke';
export const USERINFO_PATH = '/oauth/userinfo';
export const KEYS_PATH = '/oauth/keys';
